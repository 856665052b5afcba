import { expect, test } from "bun:test";
import { framesHeader, framesType } from "../../src/base/requests/frames.ts";
import { RemoteTransport } from "../../src/cli/gateways/remote.ts";
import { callPatiently } from "../../src/cli/operations/patient-call.ts";

const call = { method: "GET", path: "/keys", body: null } as const;
const change = { method: "POST", path: "/keys", body: "{}" } as const;
const patience = { probeEveryMs: 50, probeMs: 300, frameMs: 300 };
const headers = { "x-request-id": "req_1" };

const failureOf = (sending: Promise<Response>) =>
  sending.then(
    () => "an answer",
    (error: Error) => error.message,
  );

test("an address that accepts connections and stays silent is given up, by a change with a warning", async () => {
  using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const url = `http://127.0.0.1:${silent.port}`;
  const transport = new RemoteTransport(url, "slua_x", patience);
  expect(await failureOf(transport.send(call, () => {}))).toBe(
    `no response from ${url} for 0 s: check the address, and what is between here and there`,
  );
  expect(await failureOf(transport.send(change, () => {}))).toEndWith(
    "; the change can still take effect: check before you repeat it",
  );
});

test("no probe outlives its call, so that the command ends with its message", async () => {
  const probes: AbortSignal[] = [];
  const untilAborted = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const sent = callPatiently({
    send: untilAborted,
    probe(signal) {
      probes.push(signal);
      return untilAborted(signal);
    },
    onNote() {},
    patience,
  });
  expect(await failureOf(sent)).not.toBe("an answer");
  expect(probes.length).toBeGreaterThan(1);
  expect(probes.filter((signal) => !signal.aborted)).toEqual([]);
});

test("a gateway that works on a call for long is waited for, as long as it responds to others", async () => {
  const probes = Promise.withResolvers<void>();
  let probed = 0;
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      if (new URL(request.url).pathname.endsWith("/session")) {
        probed += 1;
        // Longer than a silent gateway would be waited for.
        if (probed * patience.probeEveryMs > 3 * patience.probeMs) probes.resolve();
        return Response.json({});
      }
      await probes.promise;
      return Response.json({ done: true }, { headers });
    },
  });
  const transport = new RemoteTransport(String(server.url).slice(0, -1), "slua_x", patience);
  expect(await (await transport.send(change, () => {})).json()).toEqual({ done: true });
});

test("a gateway that stops sending in the middle of its frames is given up", async () => {
  using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      expect(request.headers.get(framesHeader)).toBe("1");
      const body = new ReadableStream({
        start: (stream) => stream.enqueue(new Uint8Array([0, 0, 0, 0, 1, 65])),
      });
      return new Response(body, { headers: { ...headers, "content-type": framesType } });
    },
  });
  const notes: string[] = [];
  const transport = new RemoteTransport(String(server.url).slice(0, -1), "slua_x", patience);
  expect(await failureOf(transport.send(call, (note) => notes.push(note)))).toContain("no response from");
  expect(notes).toEqual(["A"]);
});
