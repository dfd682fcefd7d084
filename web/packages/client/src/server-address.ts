/** Where the server is: the addresses of a call, of its API and of the worklets. */

/** This script's own address where it is a script of a page; read while it loads, since it is not known later. */
const SCRIPT = typeof document === "undefined" ? "" : ((document.currentScript as HTMLScriptElement | null)?.src ?? "");
/** The place of this client on a server. */
const PLACE = /client\/realtime(\.script)?\.js$/;

/** The page's address; on a server that draws pages there is none, and nothing is called. */
function pageAddress(): string {
  return typeof document === "undefined" ? "http://localhost/" : document.baseURI;
}

/** The server that this script came from, else that of the page. `module`: the address of the module, "" if unknown. */
export function defaultServer(module: string): string {
  const own = [SCRIPT, module].map((address) => address.replace(/[?#].*$/, "")).find((address) => PLACE.test(address));
  return own ? own.replace(PLACE, "") : new URL("/", pageAddress()).href;
}

/**
 * The server's address with the slash to which paths are added. Throws TypeError for what is neither an address with its
 * scheme nor a path of the page's own server.
 */
export function asFolder(server: string): string {
  const address = /^[./]/.test(server) ? new URL(server, pageAddress()).href : server.trim().replace(/^ws(s?:)/i, "http$1");
  if (!/^https?:\/\//i.test(address) || !URL.canParse(address)) {
    const wrong = JSON.stringify(server);
    throw new TypeError(`${wrong} is no address of a server: give one such as "http://localhost:8000", with its scheme.`);
  }
  const url = new URL(address);
  url.search = url.hash = "";
  return url.href.endsWith("/") ? url.href : `${url.href}/`;
}

/** The address of a path of the server, with a token. */
export function addressOf(server: string, path: string, token: string): string {
  const url = new URL(path, server);
  if (token !== "") url.searchParams.set("token", token);
  return url.href;
}

/** The address of a call's socket. */
export function socketAddress(server: string, user: string, session: string, token: string): string {
  const address = addressOf(server, `ws/${encodeURIComponent(user)}/${encodeURIComponent(session)}`, token);
  return address.replace(/^http/, "ws");
}
