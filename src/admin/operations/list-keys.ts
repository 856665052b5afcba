import type { KeyRecord } from "../../store/store.ts";
import type { OperationContext } from "./context.ts";
import { type KeyView, viewKey } from "./key-view.ts";

const pageSize = 500;

/** All keys, or those that the search fits, with their standing. */
export async function listKeys(context: OperationContext, search?: string): Promise<KeyView[]> {
  const views: KeyView[] = [];
  for await (const key of eachKey(context, search)) views.push(await viewKey(context, key));
  return views;
}

async function* eachKey({ store }: OperationContext, search?: string): AsyncGenerator<KeyRecord> {
  let cursor: string | undefined;
  do {
    const page = await store.listKeys({ search, limit: pageSize, cursor });
    yield* page.keys;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}
