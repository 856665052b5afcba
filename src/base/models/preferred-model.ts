import type { ClientId } from "./client-snippets.ts";

/** A model as `/v1/models` lists it. */
interface ChoosableModel {
  readonly id: string;
  readonly provider?: unknown;
}

const claude = [/^claude-opus-/, /^claude-sonnet-/, /^claude-/];
const gemini = [
  /^gemini-[\d.]+-pro(?:-preview)?$/,
  /^gemini-[\d.]+-flash(?:-preview)?$/,
  /^gemini-[\d.]+-(?:pro|flash)/,
];
const gpt = [/^gpt-[\d.]+-sol$/, /^gpt-[\d.]+(?:-codex)?$/, /^(?:gpt-|codex-)/];

/** The models that each client asks for by default, the best ones first. Lists have the newest model of a family first. */
const own: Readonly<Partial<Record<ClientId, readonly RegExp[]>>> = {
  "claude-code": claude,
  anthropic: claude,
  codex: gpt,
  openai: gpt,
  "gemini-cli": gemini,
  "google-genai": gemini,
};

/**
 * The model to show in a client's settings, of those that a key can use: one that the client asks for by default, else the
 * first real one. The demo is for gateways that serve nothing else. A model that the key can pay for comes before all that
 * it cannot.
 */
export function preferredModel<Model extends ChoosableModel>(
  client: ClientId,
  models: readonly Model[],
  isAffordable: (model: Model) => boolean = () => true,
): Model | undefined {
  return best(client, models.filter(isAffordable)) ?? best(client, models) ?? models[0];
}

/** Undefined if only the demo is among them. */
function best<Model extends ChoosableModel>(client: ClientId, models: readonly Model[]): Model | undefined {
  for (const pattern of own[client] ?? []) {
    const found = models.find(({ id }) => pattern.test(id));
    if (found !== undefined) return found;
  }
  return models.find((model) => !isDemo(model));
}

function isDemo({ id, provider }: ChoosableModel): boolean {
  return provider === "demo" || /^demo-/.test(id);
}
