import { expect, spyOn, test } from "bun:test";
import { edgeWith } from "../support/edge.ts";

/** Bun's longest. */
const maxIdleSeconds = 255;

test("a mounted route can let its request take longer than connections may be idle", async () => {
  const edge = edgeWith([
    (app, { keepWaiting }) => {
      app.get("/slow", ({ request }) => {
        keepWaiting(request);
        return "done";
      });
    },
  ]);
  edge.listen({ port: 0, hostname: "127.0.0.1" });
  const { server } = edge;
  if (server === null) throw new Error("the edge does not listen");
  const timeout = spyOn(server, "timeout");
  try {
    const response = await fetch(`http://127.0.0.1:${server.port}/slow`);
    expect(await response.text()).toBe("done");
    expect(timeout.mock.calls).toEqual([[expect.any(Request), maxIdleSeconds]]);
  } finally {
    await edge.stop(true);
  }
});
