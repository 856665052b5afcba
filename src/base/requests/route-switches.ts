/** The switches of `[routes]`: groups of routes beyond the interface, each on or off by default. */
const routeSwitches = {
  stored_responses: {
    default: true,
    description: "Responses by id: GET, DELETE, input_items, cancel, previous_response_id, item_reference.",
  },
  background: { default: true, description: "`background: true` of a response; off: 400." },
  conversations: { default: false, description: "/v1/conversations, and `conversation` of a response." },
  compact: { default: true, description: "/v1/responses/compact, and `compaction_trigger` items." },
  batches: { default: true, description: "/v1/files, /v1/batches and /v1/messages/batches." },
  websocket: { default: true, description: "/v1/responses over WebSocket; off: 426." },
  input_tokens: { default: true, description: "/v1/responses/input_tokens." },
  gemini: {
    default: true,
    description:
      "Google's generateContent, countTokens, embedContent and list of models, below /v1beta, /v1alpha and /v1.",
  },
  embeddings: { default: true, description: "/v1/embeddings, and Google's embedContent." },
  rerank: { default: true, description: "/v1/rerank." },
  completions: { default: true, description: "/v1/completions and /v1/fim/completions." },
  moderations: { default: true, description: "/v1/moderations." },
  images: { default: true, description: "/v1/images/generations and /v1/images/edits." },
  audio: { default: true, description: "/v1/audio/transcriptions, translations and speech." },
} as const satisfies Readonly<Record<string, { readonly default: boolean; readonly description: string }>>;

export type RouteSwitch = keyof typeof routeSwitches;

export type SwitchedRoutes = Readonly<Record<RouteSwitch, boolean>>;

/** An object with a computed value for every switch. */
export function mapSwitches<Value>(
  valueFor: (name: RouteSwitch, entry: (typeof routeSwitches)[RouteSwitch]) => Value,
): Record<RouteSwitch, Value> {
  const entries = Object.entries(routeSwitches).map(([name, entry]) => [
    name,
    valueFor(name as RouteSwitch, entry),
  ]);
  // Object.fromEntries knows no names; these are the table's own.
  return Object.fromEntries(entries) as Record<RouteSwitch, Value>;
}
