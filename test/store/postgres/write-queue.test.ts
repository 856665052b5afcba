import { expect, test } from "bun:test";
import { nextLoopIteration } from "../../../src/base/loop/pacer.ts";
import { WriteQueue } from "../../../src/store/postgres/write-queue.ts";

async function turns(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await nextLoopIteration();
}

test("what comes while a write is under way is written after it, together", async () => {
  const writes: { readonly items: readonly string[]; readonly end: PromiseWithResolvers<void> }[] = [];
  const queue = new WriteQueue<string, string>((items) => {
    const end = Promise.withResolvers<void>();
    writes.push({ items, end });
    return end.promise.then(() => items);
  });
  const written: string[] = [];
  const add = (item: string) => queue.add(item).then((answer) => written.push(answer));
  const adding = [add("a"), add("b")];
  await turns();
  adding.push(add("c"), add("d"));
  await turns();
  expect(writes.map(({ items }) => items)).toEqual([["a", "b"]]);
  writes[0]?.end.resolve();
  await turns();
  expect(written).toEqual(["a", "b"]);
  expect(writes.map(({ items }) => items)).toEqual([
    ["a", "b"],
    ["c", "d"],
  ]);
  writes[1]?.end.resolve();
  await Promise.all(adding);
  expect(written).toEqual(["a", "b", "c", "d"]);
});

test("a write that fails fails those who share it, and nobody else", async () => {
  let isFailing = true;
  const queue = new WriteQueue<string, string>(async (items) => {
    if (isFailing) throw new Error("no");
    return items;
  });
  const failed = await Promise.allSettled([queue.add("a"), queue.add("b")]);
  expect(failed.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  isFailing = false;
  await queue.add("c");
});
