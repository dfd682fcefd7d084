/** The worklet of a sound output. */

/** Loads the output worklet `name` into the context and connects it; closes the context on failure. */
export async function openWorkletOutput(
  context: AudioContext,
  workletUrl: string,
  name: string,
  processorOptions: object,
): Promise<AudioWorkletNode> {
  try {
    await context.audioWorklet.addModule(workletUrl);
    const node = new AudioWorkletNode(context, name, { numberOfInputs: 0, outputChannelCount: [1], processorOptions });
    node.connect(context.destination);
    return node;
  } catch (error) {
    await context.close();
    throw error;
  }
}
