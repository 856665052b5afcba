import { expect, test } from "bun:test";
import { connect } from "node:net";
import { waitFor } from "../../support/wait.ts";
import { onBothStores } from "../on-both-stores.ts";
import { BatchClient } from "./batch-world.ts";

const boundary = "B";
const beginning = [
  `--${boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch`,
  `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="x.jsonl"\r\n\r\n`,
].join("\r\n");

/** Sends so many bytes of a file of 4 MB, and leaves. */
async function breakOff(url: string, secret: string, bytes: number): Promise<void> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const head = [
    "POST /v1/files HTTP/1.1",
    `Host: ${hostname}`,
    `Authorization: Bearer ${secret}`,
    `Content-Type: multipart/form-data; boundary=${boundary}`,
    `Content-Length: ${4 * 1024 * 1024}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${beginning}`);
  const sent = Promise.withResolvers<void>();
  socket.write(Buffer.alloc(bytes, "x"), () => sent.resolve());
  await sent.promise;
  socket.destroy();
}

onBothStores("", (world) => {
  test("uploads that break off leave nothing, and take no place of later ones", async () => {
    const caller = await world().creditCaller();
    const { key, secret } = caller;
    const ids = new Set<string>();
    const { uploads } = world().running.store;
    const { begin } = uploads;
    Object.assign(uploads, {
      begin: (...begun: Parameters<typeof begin>) => {
        ids.add(begun[0].id);
        return begin(...begun);
      },
    });
    const cuts = [1, 100_000, 1_000_000, 3_000_000];
    await Promise.all(cuts.map((bytes) => breakOff(world().running.url, secret, bytes)));
    await waitFor(() => ids.size === cuts.length, "the uploads to begin");
    await world().settled();
    Object.assign(uploads, { begin });
    const isGone = async (id: string) => (await uploads.part(id, 0)) === null;
    await waitFor(
      async () => (await Promise.all([...ids].map(isGone))).every(Boolean),
      "the parts to be deleted",
    );
    await waitFor(async () => (await uploads.bytesOf(key.id)) === 0, "no bytes to count");
    const { status, body } = await BatchClient.of(world(), caller).upload("{}");
    expect(status).toBe(200);
    const files = await BatchClient.of(world(), caller).call<{ data: unknown[] }>("GET", "/files");
    expect(files.body.data).toEqual([body]);
  });
});
