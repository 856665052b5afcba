/**
 * `anthropic.claude-opus-5-5-20261001-v1:0` and `claude-opus-5-5@20261001` are claude-opus-5-5. A region has its own price, so
 * `eu.anthropic.claude-opus-5-5` stays eu.claude-opus-5-5.
 */
export function plainName(model: string): string {
  return model
    .toLowerCase()
    .replace(/^.*\//, "")
    .replace(/^(?:global\.|([a-z-]+\.))?(?:anthropic|openai|google|mistral|deepseek|meta|amazon)\./, "$1")
    .replace(/(?:-v\d+)?(?::\d+)?$/, "")
    .replace(/[@-]\d{8}$/, "");
}
