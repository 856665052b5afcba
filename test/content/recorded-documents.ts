import type { ContentDocument } from "../../src/content/document.ts";
import type { Caller, World } from "../gateway/world.ts";

/** What was recorded of the last request of a key. */
export async function lastRecorded(world: World, { key }: Caller): Promise<ContentDocument> {
  await world.settled();
  const recorder = world.gateway.content;
  if (recorder === null) throw new Error("content is off");
  const [listed] = await recorder.list({ limit: 1, keyIds: [key.id] });
  const document = await recorder.read(listed?.id ?? "");
  if (document === null) throw new Error("nothing was recorded");
  return JSON.parse(Buffer.from(document.json).toString()) as ContentDocument;
}

/** The text of a response in any dialect. */
export function textIn(response: unknown): string {
  const texts: string[] = [];
  const visit = (value: unknown, name = ""): void => {
    if (typeof value === "string" && (name === "content" || name === "text")) texts.push(value);
    else if (typeof value === "object" && value !== null)
      for (const [member, item] of Object.entries(value)) visit(item, member);
  };
  visit(response);
  return texts.join("");
}
