import { cellBody } from "./cells.ts";
import type { LoadTarget } from "./load-job.ts";
import { cpuMicros } from "./proc.ts";

/** What a streamed response costs the gateway, in microseconds of its CPU. */
export interface SocketFigures {
  readonly httpMicros: number;
  readonly socketMicros: number;
}

export const socketName = "a turn over WebSocket";

const connections = 16;
const turnsEach = 60;
const rounds = 5;
/** HTTP has been measured before, and sockets have not. */
const roundsBefore = 3;

/** In turns, so that both meet the same machine. */
export async function measureSocket(target: LoadTarget, pid: number): Promise<SocketFigures> {
  const body = cellBody({ route: "responses", size: "1 KB", stream: true, concurrency: connections });
  const url = `${target.url}/v1/responses`;
  const post = async () => {
    const headers = { ...target.headers, "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", headers, body });
    if (!(await response.text()).includes("response.completed")) throw new Error("a response has not ended");
  };
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => openSocket(url, target.headers)),
  );
  const frame = `{"type":"response.create",${body.slice(1)}`;
  const [http, socket]: [number[], number[]] = [[], []];
  for (let round = -roundsBefore; round < rounds; round += 1) {
    const byHttp = await cpuOf(pid, () => post);
    const bySocket = await cpuOf(pid, (index) => () => sockets[index]?.ask(frame) ?? Promise.reject(index));
    if (round < 0) continue;
    http.push(byHttp);
    socket.push(bySocket);
  }
  // What they remember would count as memory that the gateway keeps.
  for (const { close } of sockets) close();
  return { httpMicros: median(http), socketMicros: median(socket) };
}

async function cpuOf(pid: number, turnOf: (index: number) => () => Promise<void>): Promise<number> {
  const before = cpuMicros(pid);
  const ask = async (turn: () => Promise<void>) => {
    for (let done = 0; done < turnsEach; done += 1) await turn();
  };
  await Promise.all(Array.from({ length: connections }, (_, index) => ask(turnOf(index))));
  return (cpuMicros(pid) - before) / (connections * turnsEach);
}

/** Asking resolves when the response to a frame has ended. */
async function openSocket(url: string, headers: LoadTarget["headers"]) {
  // HTTP compresses no request either.
  const socket = new WebSocket(url.replace("http", "ws"), { headers, perMessageDeflate: false });
  let ended = Promise.withResolvers<void>();
  socket.onmessage = ({ data }) => {
    if (/"response\.completed"/.test(String(data).slice(0, 200))) ended.resolve();
    else if (String(data).startsWith('{"type":"error"')) ended.reject(new Error(String(data)));
  };
  await new Promise((resolve) => {
    socket.onopen = resolve;
  });
  const ask = (frame: string) => {
    ended = Promise.withResolvers<void>();
    socket.send(frame);
    return ended.promise;
  };
  return { ask, close: () => socket.close() };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
