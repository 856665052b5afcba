/** Characters that a pattern can contain, so that it means the same here and in both databases' SQL. */
export const modelPatternForm = /^[\w.:@/*+-]{1,128}$/;

/** Whether a model's id matches a pattern, in which `*` stands for anything. Null matches every model. */
export function matchesModel(pattern: string | null, model: string): boolean {
  if (pattern === null) return true;
  const [start = "", ...rest] = pattern.split("*");
  const end = rest.pop();
  if (end === undefined) return model === pattern;
  if (!model.startsWith(start) || !model.endsWith(end) || model.length < start.length + end.length)
    return false;
  let from = start.length;
  for (const part of rest) {
    const at = model.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return from <= model.length - end.length;
}

/**
 * Whether a limit for these models covers a model. Providers and clouds put their own names before a maker's, and such a name must not
 * lead past the limit: `claude-opus-*` also covers `vertex/claude-opus-5` and `eu.anthropic.claude-opus-5`.
 */
export function coversModel(models: string | null, model: string): boolean {
  if (models === null || matchesModel(models, model)) return true;
  return matchesModel(`*/${models}`, model) || matchesModel(`*.${models}`, model);
}
