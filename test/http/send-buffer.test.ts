import { expect, test } from "bun:test";
import type { DirectController } from "../../src/gateway/exchange/client-call.ts";
import { limitSendBuffers } from "../../src/http/listening-sockets.ts";
import { newFolder } from "../support/new-folder.ts";

const mebibyte = 1024 * 1024;
const isLinux = process.platform === "linux";

test.skipIf(!isLinux)(
  "a client that does not read blocks its stream within half a megabyte, not four",
  async () => {
    const piece = new Uint8Array(32 * 1024);
    const blocked = Promise.withResolvers<number>();
    const pull = (controller: DirectController) => {
      let bytes = 0;
      while (bytes < 32 * mebibyte) {
        bytes += piece.length;
        if (controller.write(piece) instanceof Promise) break;
      }
      blocked.resolve(bytes);
      return new Promise<void>(() => {});
    };
    const server = Bun.serve({
      port: 0,
      fetch: () => new Response(new ReadableStream({ type: "direct", pull })),
    });
    expect(limitSendBuffers(server.port ?? 0)).toBe(true);
    const client = await Bun.connect({
      hostname: "127.0.0.1",
      port: server.port ?? 0,
      socket: { data: () => {} },
    });
    client.pause();
    client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect(await blocked.promise).toBeLessThan(0.75 * mebibyte);
    client.terminate();
    await server.stop(true);
  },
);

test("a port where nothing listens has no send buffers to limit", () => {
  expect(limitSendBuffers(1)).toBe(false);
});

test.skipIf(!isLinux)(
  "a socket file whose name reads as the port is not taken for the listener",
  async () => {
    const [high, low] = Buffer.from("zz");
    const port = (high ?? 0) * 256 + (low ?? 0);
    const before = process.cwd();
    process.chdir(newFolder());
    const server = Bun.listen({ unix: "zz.sock", socket: { data: () => {} } });
    expect(limitSendBuffers(port)).toBe(false);
    server.stop(true);
    process.chdir(before);
  },
);
