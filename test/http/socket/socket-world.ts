import type { ServerWebSocket } from "bun";
import type { Route } from "../../../src/gateway/exchange/client-call.ts";
import { routes } from "../../../src/gateway/operations.ts";
import { ClientSocket } from "../../../src/http/socket/client-socket.ts";
import { answer, TurnWorld } from "../../gateway/turn-world.ts";
import type { Caller, World } from "../../gateway/world.ts";
import { type Answer, sse } from "../../support/answers.ts";
import type { SeenRequest } from "../../support/provider.ts";
import { type Frame, SocketClient } from "../../support/socket.ts";

/** A gateway in the test's own process, and clients that open WebSockets to it. */
export class SocketWorld {
  readonly turns: TurnWorld;

  private constructor(turns: TurnWorld) {
    this.turns = turns;
  }

  static async start(head = ""): Promise<SocketWorld> {
    return new SocketWorld(await TurnWorld.start(head));
  }

  get world(): World {
    return this.turns.world;
  }

  get url(): string {
    return this.world.running.url;
  }

  readonly open = (as: Caller = this.turns.caller, headers: Record<string, string> = {}) => {
    const origin = as.key.mode === "credit" ? "" : "/token";
    return SocketClient.open(this.url, as.secret, { path: `${origin}/v1/responses`, headers });
  };

  /** From now on the provider says some events of its answers, and the rest once it is let go on. */
  readonly halt = (afterEvents = 1) => {
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    this.world.provider.script((request) => {
      const events = eventsOf(request);
      const [head, rest] = [events.slice(0, afterEvents).join(""), events.slice(afterEvents).join("")];
      return { ...sse(""), steps: [{ write: head }, { until: released }, { write: rest }] };
    });
    return { release };
  };
}

/** A socket whose connection is the test's: it says what it has buffered, and closes when the test says so. */
export function connected(world: World, as: Caller, headers: Record<string, string> = {}) {
  const route = routes.find(({ isUpgrade, mode }) => isUpgrade === true && mode === "credit");
  const request = new Request(`${world.running.url}${route?.path}`, {
    headers: { ...bearer(as), ...headers },
  });
  const slot = world.gateway.socketSlots.reserve(as.key.id);
  const handshake = { request, route: route as Route, address: "127.0.0.1", keyId: as.key.id, slot };
  const socket = new ClientSocket(world.gateway, handshake);
  const sent: string[] = [];
  const state = { isCutOff: false, isDropping: false, buffered: 0 };
  const fake = {
    cork: (write: () => void) => write(),
    sendText: (frame: string) => (state.isDropping ? 0 : sent.push(frame)),
    getBufferedAmount: () => state.buffered,
    terminate: () => {
      state.isCutOff = true;
    },
  };
  // The cast: all that a socket calls of its connection is there.
  const connection = fake as unknown as ServerWebSocket<unknown>;
  socket.open(connection);
  return { socket, connection, sent, state };
}

/** The events of the usual answer. */
export function eventsOf(request: SeenRequest): readonly string[] {
  const { steps }: Answer = answer(request);
  const text = steps.map((step) => ("write" in step ? String(step.write) : "")).join("");
  return text.split(/(?<=\n\n)/);
}

export const bearer = ({ secret }: Caller) => ({ authorization: `Bearer ${secret}` });

export const typesOf = (frames: readonly Frame[]) => frames.map(({ type }) => type);
