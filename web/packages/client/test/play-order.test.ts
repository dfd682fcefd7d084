import { expect, test } from "vitest";
import { PlayOrder } from "../src/play-order.ts";

function order(): { order: PlayOrder; sent: string[] } {
  const sent: string[] = [];
  const target = {
    push: (slot: number, pcm: Int16Array) => void sent.push(`${slot}:${pcm[0]}`),
    end: (slot: number) => void sent.push(`${slot} ends`),
  };
  return { order: new PlayOrder(target), sent };
}

const chunk = (value: number): Int16Array<ArrayBuffer> => Int16Array.of(value);

test("two interleaved items are heard one after the other", () => {
  const { order: play, sent } = order();
  play.push(0, chunk(1));
  play.push(1, chunk(11));
  play.push(0, chunk(2));
  play.push(1, chunk(12));
  play.end(1);
  expect(sent).toEqual(["0:1", "0:2"]);
  play.end(0);
  expect(sent).toEqual(["0:1", "0:2", "0 ends", "1:11", "1:12", "1 ends"]);
});

test("dropping the first item lets the next one through", () => {
  const { order: play, sent } = order();
  play.push(0, chunk(1));
  play.push(1, chunk(11));
  play.push(2, chunk(21));
  play.drop(1);
  play.drop(0);
  expect(sent).toEqual(["0:1", "2:21"]);
});

test("dropping all forgets what waits", () => {
  const { order: play, sent } = order();
  play.push(0, chunk(1));
  play.push(1, chunk(11));
  play.drop(null);
  play.push(2, chunk(21));
  expect(sent).toEqual(["0:1", "2:21"]);
});

test("an item whose end never comes does not hold up the one that waits", () => {
  const { order: play, sent } = order();
  play.push(0, chunk(1));
  play.starved();
  play.push(1, chunk(11));
  play.starved();
  play.end(1);
  play.push(0, chunk(2));
  play.end(0);
  expect(sent).toEqual(["0:1", "1:11", "1 ends", "0:2", "0 ends"]);
});
