/** Whether the browser lets this page sound without a click. */

const PATIENCE_MS = 300;

export async function soundMayBegin(): Promise<boolean> {
  // Without a secure context there is no sound to wait for.
  if (!window.isSecureContext || navigator.userActivation?.hasBeenActive) return true;
  const context = new AudioContext();
  try {
    // Where it may not, this is answered when somebody clicks.
    await Promise.race([context.resume(), new Promise((go) => setTimeout(go, PATIENCE_MS))]);
    return context.state === "running";
  } finally {
    await context.close();
  }
}
