/** `eu.anthropic.claude-opus-5-5-20261001-v1:0` and `claude-opus-5-5@20261001` are claude-opus-5-5. */
export function plainName(model: string): string {
  return model
    .toLowerCase()
    .replace(/^.*\//, "")
    .replace(/^(?:[a-z]+\.)?(?:anthropic|openai|google|mistral|deepseek|meta|amazon)\./, "")
    .replace(/(?:-v\d+)?(?::\d+)?$/, "")
    .replace(/[@-]\d{8}$/, "");
}
