import { expect, spyOn, test } from "bun:test";
import { edgeWith } from "../support/edge.ts";

/** Without a limit. */
const unlimited = 0;

test("a mounted route can let its request take as long as it needs", async () => {
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
    expect(timeout.mock.calls).toEqual([[expect.any(Request), unlimited]]);
  } finally {
    await edge.stop(true);
  }
});
