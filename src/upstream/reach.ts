import { connect } from "node:net";

/** A provider that was heard from so lately needs no proof that it can be reached. */
const freshMs = 30_000;

/** Opens a bare connection, closes it again and says whether it stood. */
export type Knock = (host: string, port: number, done: (stood: boolean) => void) => void;

/**
 * Whether a provider can be connected to. `fetch` does not tell when its connection stands, so a host that
 * swallows packets looks like one that thinks for long; but the one can be given up soon and asked elsewhere,
 * and the other may already be at work. When a provider has not been heard from for a while, one bare
 * connection beside the call, shared by all calls that wait for it, tells the two apart.
 */
export class Reach {
  readonly #knock: Knock;
  readonly #target: { readonly host: string; readonly port: number } | null;
  #heardMs = Number.NEGATIVE_INFINITY;
  #waiting: (() => void)[] | null = null;

  constructor(baseUrl: string, knock: Knock = knockByTcp) {
    this.#knock = knock;
    this.#target = targetOf(baseUrl);
  }

  heard(nowMs: number): void {
    this.#heardMs = nowMs;
  }

  isSure(nowMs: number): boolean {
    return this.#target === null || nowMs - this.#heardMs < freshMs;
  }

  /** Calls back when the provider has accepted a connection. */
  whenConnected(connected: () => void): void {
    if (this.#waiting !== null) {
      this.#waiting.push(connected);
      return;
    }
    if (this.#target === null) return;
    const waiting = [connected];
    this.#waiting = waiting;
    this.#knock(this.#target.host, this.#target.port, (stood) => {
      if (this.#waiting === waiting) this.#waiting = null;
      if (stood) for (const call of waiting) call();
    });
  }

  /** Nobody has come to the door for too long; the next call knocks anew. */
  gaveUp(): void {
    this.#waiting = null;
  }
}

/** Null where knocking makes no sense: the demo, and hosts that are reached through a proxy. */
function targetOf(baseUrl: string): { host: string; port: number } | null {
  const url = URL.parse(baseUrl);
  if (url === null || !url.protocol.startsWith("http") || viaProxy()) return null;
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  return { host: url.hostname.replace(/^\[|\]$/g, ""), port };
}

function viaProxy(): boolean {
  return ["http_proxy", "https_proxy", "all_proxy"].some(
    (name) => Boolean(process.env[name]) || Boolean(process.env[name.toUpperCase()]),
  );
}

const longestKnockMs = 60_000;

function knockByTcp(host: string, port: number, done: (stood: boolean) => void): void {
  const socket = connect({ host, port }, () => {
    socket.destroy();
    done(true);
  });
  socket.unref();
  socket.setTimeout(longestKnockMs, () => socket.destroy(new Error("nobody has answered")));
  socket.on("error", () => done(false));
}
