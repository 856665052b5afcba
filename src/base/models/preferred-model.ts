import type { ClientId } from "./client-snippets.ts";

/** A model as `/v1/models` lists it. */
interface ChoosableModel {
  readonly id: string;
  readonly provider?: unknown;
}

const claude = [/^claude-opus-/, /^claude-sonnet-/, /^claude-/];
const gpt = [/^gpt-[\d.]+-sol$/, /^gpt-[\d.]+(?:-codex)?$/, /^(?:gpt-|codex-)/];

/** The models that each client asks for by default, the best ones first. Lists have the newest model of a family first. */
const own: Readonly<Partial<Record<ClientId, readonly RegExp[]>>> = {
  "claude-code": claude,
  anthropic: claude,
  codex: gpt,
  openai: gpt,
};

/**
 * The model to show in a client's settings, of those that a key can use: one that the client asks for by default, else the
 * first real one. The demo is for gateways that serve nothing else.
 */
export function preferredModel<Model extends ChoosableModel>(
  client: ClientId,
  models: readonly Model[],
): Model | undefined {
  for (const pattern of own[client] ?? []) {
    const found = models.find(({ id }) => pattern.test(id));
    if (found !== undefined) return found;
  }
  return models.find((model) => !isDemo(model)) ?? models[0];
}

function isDemo({ id, provider }: ChoosableModel): boolean {
  return provider === "demo" || /^demo-/.test(id);
}
