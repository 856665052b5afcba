import { test } from "bun:test";
import { readStream } from "../support/sse.ts";
import { pairs, talker } from "../gateway/pairs.ts";
import { hello, paths, streamAnswer, usageOf, wholeAnswer } from "../gateway/wire-answers.ts";
import { World } from "../gateway/world.ts";
const text = "Sluices keep the canal navigable.";
test("exp", async () => {
  const world = await World.start({ tail: talker });
  const lines: string[] = [];
  const run = async (name: string, pair: any, stream: boolean, answer: any) => {
    const caller = await world.creditCaller();
    world.provider.reset();
    world.provider.script(answer);
    const body = hello(pair.client, pair.model, stream ? { stream: true } : {});
    const response = await world.ask(caller, { path: paths[pair.client as "chat"], body });
    let failure: any = null, got = "";
    try { const r: any = await readStream(response); failure = r.failure; got = r.text ?? ""; } catch (e) { failure = "throw " + e; }
    const charges = await world.chargesOf(caller);
    lines.push(`${pair.client}→${pair.provider} ${stream ? "stream" : "whole "} ${name}: ${response.status} fail=${failure ? JSON.stringify(failure).slice(0, 90) : null} got=${JSON.stringify(String(got).slice(0,30))} charges=${JSON.stringify(charges.map(c => [c.amount, c.basis, c.outcome]))}`);
  };
  for (const pair of pairs) for (const stream of [false, true]) {
    for (const other of ["chat", "responses", "messages"] as const) {
      // usage names of other dialect in its own envelope
      if (other !== pair.provider) {
        const said = { text, usage: usageOf(other, 100, 20) };
        await run(`usage of ${other}`, pair, stream, stream ? streamAnswer(pair.provider, said) : wholeAnswer(pair.provider, said));
        await run(`shape of ${other}`, pair, stream, stream ? streamAnswer(other, said) : wholeAnswer(other, said));
      }
      if (stream) { const said = { text, usage: usageOf(other, 100, 20) }; await run(`unasked whole of ${other}`, pair, true, wholeAnswer(other, said)); }
      else { const said = { text, usage: usageOf(other, 100, 20) }; await run(`unasked stream of ${other}`, pair, false, streamAnswer(other, said)); }
    }
  }
  console.log(lines.join("\n"));
  await world[Symbol.asyncDispose]();
}, 120000);
