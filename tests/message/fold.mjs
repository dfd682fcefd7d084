// Folds what it reads from its input with the TypeScript module that its first argument names; prints what it made.
import { readFileSync } from "node:fs";
const { Transcript, foldStream, readReplyEvent, Msg, canonicalJson } = await import(process.argv[2]);
console.warn = () => {};
const { streams, messages, values, text } = JSON.parse(readFileSync(0, "utf8"));
const fold = (frames) => {
  const transcript = new Transcript();
  const refused = [];
  frames.forEach((frame, place) => {
    let event;
    try { event = readReplyEvent(frame); } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      refused.push(place);
      return;
    }
    transcript.append(event);
  });
  const write = (messages) => messages.map((message) => message.toCanonicalJson());
  return { refused, messages: write(transcript.messages), told: write(transcript.told()) };
};
const transcript = new Transcript();
const ids = [];
for await (const { id } of foldStream(new Blob([text]).stream(), transcript)) ids.push(id);
console.log(JSON.stringify({
  streamed: { ids, messages: transcript.told().map((message) => message.toCanonicalJson()) },
  streams: streams.map(fold),
  messages: messages.map((message) => Msg.read(message).toCanonicalJson()),
  values: values.map(canonicalJson),
}));
