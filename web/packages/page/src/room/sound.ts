/** Whether the browser lets this page sound without a click. */

const PATIENCE_MS = 300;

export async function soundMayBegin(): Promise<boolean> {
  // Without a secure context there is no sound.
  if (!window.isSecureContext || navigator.userActivation?.hasBeenActive) return true;
  const context = new AudioContext();
  try {
    // Where it may not, the promise stays pending until a click.
    await Promise.race([context.resume(), new Promise((go) => setTimeout(go, PATIENCE_MS))]);
    return context.state === "running";
  } finally {
    await context.close();
  }
}
