import { RealtimeClient } from "@realtime-voice/client";

const part = <Part extends HTMLElement>(selector: string): Part => document.querySelector<Part>(selector) as Part;
const button = part<HTMLButtonElement>("#talk");
const status = part("[role=status]");
const problem = part("[role=alert]");
const list = part("ol");
const volume = part<HTMLInputElement>("#volume");

const client = new RealtimeClient({ server: "http://127.0.0.1:8000" });

client.registerTool<{ colour: string }>("set_colour", {
  description: "Change the colour of the page.",
  parameters: { type: "object", properties: { colour: { type: "string", description: "A CSS colour." } } },
  run({ colour }) {
    document.body.style.background = colour;
    return `The page is ${colour} now.`;
  },
});

client.on("state", (state) => {
  status.textContent = state;
  button.textContent = client.isActive ? "End" : "Talk";
});
client.on("error", ({ message }) => {
  problem.textContent = message;
});
client.messages.on("change", (messages) => {
  list.replaceChildren(
    ...messages.map(({ from, name, text }) => {
      const line = document.createElement("li");
      line.textContent = `${name || from}: ${text}`;
      return line;
    }),
  );
});

button.onclick = () => {
  problem.textContent = "";
  client.isActive ? client.stop() : void client.start();
};
volume.oninput = () => (client.speaker.volume = volume.valueAsNumber);
