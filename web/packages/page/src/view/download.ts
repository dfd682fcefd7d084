/** Files that the page makes. */

/** How long the browser may take to begin reading a file after the click. */
const READ_MS = 10_000;

/** Offers a file of this name to the user's downloads. */
export function download(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), READ_MS);
}
