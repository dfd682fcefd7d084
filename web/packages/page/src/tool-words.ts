/** Names of tools and arguments as words. Pure. */

/** The name of a tool as words: `find_order` and `findOrder` are "Find order". */
export function nameWords(name: string): string {
  const words = name.replace(/([a-z\d])([A-Z])/g, "$1 $2").replaceAll(/[_\-.]+/g, " ").trim();
  return words === "" ? name : `${words.charAt(0).toUpperCase()}${words.slice(1).toLowerCase()}`;
}

/** A value as it is shown: text as it is, anything else as JSON. */
export function valueWords(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
