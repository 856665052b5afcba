import { type Asked, type BodySize, eventsPerStream, paths, requestBody } from "./payloads.ts";

/** What a client speaks, and what the provider of its model speaks. */
export type Route = "chat" | "responses" | "messages" | "messages → chat" | "chat → messages" | "embeddings";

export interface Cell {
  readonly route: Route;
  readonly size: BodySize;
  readonly stream: boolean;
  readonly concurrency: number;
}

interface RouteFacts {
  readonly dialect: Asked;
  /** A model of the config that the gateway under test is given. */
  readonly model: string;
}

export const routes: Readonly<Record<Route, RouteFacts>> = {
  chat: { dialect: "chat", model: "bench-openai" },
  responses: { dialect: "responses", model: "bench-openai" },
  messages: { dialect: "messages", model: "bench-anthropic" },
  "messages → chat": { dialect: "messages", model: "bench-local" },
  "chat → messages": { dialect: "chat", model: "bench-anthropic" },
  embeddings: { dialect: "embeddings", model: "bench-embeddings" },
};

/** All that generate. */
const everyRoute = (Object.keys(routes) as Route[]).filter((route) => route !== "embeddings");

export function cellName({ route, size, stream, concurrency }: Cell): string {
  return `${route}, ${stream ? "stream" : "JSON"}, ${size}, c=${concurrency}`;
}

export function cellBody({ route, size, stream }: Cell): string {
  const { dialect, model } = routes[route];
  return requestBody(dialect, model, size, stream);
}

export function cellPath({ route }: Cell): string {
  return paths[routes[route].dialect];
}

export function cellEvents({ stream }: Cell): number {
  return stream ? eventsPerStream : 0;
}

/** Enough to judge every bar, in a run that one waits for. */
export function shortList(): Cell[] {
  const small = { size: "1 KB", stream: false } as const;
  return [
    { ...small, route: "chat", concurrency: 1 },
    { ...small, route: "chat", concurrency: 32 },
    { ...small, route: "chat", concurrency: 256 },
    { ...small, route: "chat", size: "100 KB", concurrency: 32 },
    { ...small, route: "chat", stream: true, concurrency: 1 },
    { ...small, route: "embeddings", concurrency: 32 },
    ...everyRoute.flatMap((route) => [
      ...(route === "chat" ? [] : [{ ...small, route, concurrency: 32 }]),
      { ...small, route, stream: true, concurrency: 32 },
    ]),
  ];
}

export function fullGrid(): Cell[] {
  return everyRoute.flatMap((route) =>
    [false, true].flatMap((stream) =>
      (["1 KB", "100 KB"] as const).flatMap((size) =>
        [1, 32, 256].map((concurrency) => ({ route, stream, size, concurrency })),
      ),
    ),
  );
}
