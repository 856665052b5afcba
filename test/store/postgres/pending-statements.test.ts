import { expect, test } from "bun:test";
import { PendingStatements } from "../../../src/store/postgres/pending-statements.ts";
import { waitFor } from "../../support/wait.ts";

/** A watch with scripted answers about the server at each look, and a record of what it did. */
function watched(looks: () => Promise<boolean | null>) {
  const done: string[] = [];
  const statements: PendingStatements = new PendingStatements({
    isServerBusy: () => {
      done.push("look");
      return looks();
    },
    onLost: () => done.push("lost"),
  });
  const add = (name: string) => statements.add(() => done.push(`gave up ${name}`));
  return { done, add };
}

test("a statement is given up once the server was idle at two looks, and what was sent since is not", async () => {
  let looks = 0;
  const { done, add } = watched(async () => {
    looks += 1;
    if (looks === 2) add("a young one");
    return false;
  });
  const endWatch = add("an old one");
  await waitFor(() => done.includes("lost"), "the connections to be given up");
  expect(done.slice(0, 4)).toEqual(["look", "look", "gave up an old one", "lost"]);
  endWatch();
}, 60_000);

test("a statement is waited for while the server is busy, cannot be asked, or was idle only once", async () => {
  const fails = async () => {
    throw new Error("no connection");
  };
  const answers = [false, true, false, null, false];
  const all = [watched(async () => true), watched(async () => null), watched(fails)];
  const changing = watched(async () => answers.shift() ?? true);
  for (const { add } of [...all, changing]) add("it");
  await waitFor(() => answers.length === 0, "five looks");
  await waitFor(() => all.every(({ done }) => done.length >= 3), "the other looks");
  for (const { done } of [...all, changing]) expect(new Set(done)).toEqual(new Set(["look"]));
}, 60_000);

test("nobody is asked about statements that were answered", async () => {
  const { done, add } = watched(async () => false);
  add("it")();
  const slow = watched(async () => true);
  slow.add("another");
  await waitFor(() => slow.done.length > 0, "a look at another");
  expect(done).toEqual([]);
}, 60_000);
