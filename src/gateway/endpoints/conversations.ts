import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { isConversationId, newConversationId } from "../../base/id.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Settings } from "../../config/settings.ts";
import {
  conversationItemsRequest,
  conversationRequest,
  conversationResponse,
  conversationUpdateRequest,
  deletedConversation,
} from "../../dialects/openai-responses/client/conversation-schema.ts";
import { sizeOf, type TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import { anyObject } from "../../dialects/schema/fields.ts";
import { admit } from "../admission/admit.ts";
import { lockConversation } from "../exchange/claims.ts";
import { keptOperations, type ServedOperation } from "../exchange/served-operation.ts";
import { commonHeaders } from "../response/headers.ts";
import { jsonHeaders } from "../response/pending-response.ts";
import { planConversation } from "../turns/conversation-body.ts";
import { noSuchConversation } from "../turns/conversation-errors.ts";
import { identified } from "../turns/item-ids.ts";
import { conversationBytes, keepsConversations } from "../turns/storage-settings.ts";
import type { ChangedConversation, KeptTurn } from "../turns/turn-body.ts";
import { type ConversationCall, readChange, rejectUnfit } from "./conversation-change.ts";
import { itemList, listItems, listPage, listQuery, segmentOf, showItem } from "./item-list.ts";

const reading = keptOperations("conversations");
const creating = keptOperations("conversations", "invalid_encrypted_content");
const changing = keptOperations("conversations", "conversation_locked");
const adding = keptOperations("conversations", "conversation_locked", "invalid_encrypted_content");

const root = "/v1/conversations";
const one = `${root}/:conversation_id`;
const items = `${one}/items`;
const oneItem = `${items}/:item_id`;

const conversation = { response: "Conversation", schemas: { Conversation: conversationResponse } };
const list = { response: "ConversationItemList", schemas: { ConversationItemList: itemList } };

export const conversationOperations: readonly ServedOperation[] = [
  creating("POST", root, admitted(createConversation), {
    operationId: "createConversation",
    summary: "Create a conversation",
    request: "ConversationRequest",
    ...conversation,
    schemas: { ConversationRequest: conversationRequest, ...conversation.schemas },
  }),
  reading("GET", one, admitted(showConversation), {
    operationId: "getConversation",
    summary: "Get a conversation",
    ...conversation,
  }),
  changing("POST", one, admitted(updateConversation), {
    operationId: "updateConversation",
    summary: "Replace the metadata of a conversation",
    request: "ConversationUpdate",
    ...conversation,
    schemas: { ConversationUpdate: conversationUpdateRequest, ...conversation.schemas },
  }),
  reading("DELETE", one, admitted(deleteConversation), {
    operationId: "deleteConversation",
    summary: "Delete a conversation",
    response: "DeletedConversation",
    schemas: { DeletedConversation: deletedConversation },
  }),
  adding("POST", items, admitted(createItems), {
    operationId: "createConversationItems",
    summary: "Add items to a conversation",
    request: "ConversationItems",
    ...list,
    schemas: { ConversationItems: conversationItemsRequest, ...list.schemas },
  }),
  reading("GET", items, admitted(listAll), {
    operationId: "listConversationItems",
    summary: "List the items of a conversation",
    query: listQuery,
    ...list,
  }),
  reading("GET", oneItem, admitted(showOne), {
    operationId: "getConversationItem",
    summary: "Get an item of a conversation",
    response: "ConversationItem",
    schemas: { ConversationItem: anyObject },
  }),
  changing("DELETE", oneItem, admitted(deleteItem), {
    operationId: "deleteConversationItem",
    summary: "Delete an item of a conversation",
    ...conversation,
  }),
];

async function createConversation(call: ConversationCall): Promise<Response> {
  const { items: added, metadata } = await readChange(call, "conversation");
  const id = newConversationId();
  const createdAt = Math.floor(call.admitted.exchange.atMs / 1000);
  const head = headOf({ id, object: "conversation", created_at: createdAt, metadata });
  rejectUnfit([], added);
  rejectLong(added, call.settings);
  const created = { id, no: null, head, items: added };
  await change(call, created);
  return shown(call, created);
}

async function showConversation(call: ConversationCall): Promise<Response> {
  return shown(call, await findEnd(call));
}

async function updateConversation(call: ConversationCall): Promise<Response> {
  const { metadata } = await readChange(call, "conversation_update");
  await lock(call);
  const found = await findEnd(call);
  const head = headOf({ ...JSON.parse(Buffer.from(found.head).toString()), metadata });
  await change(call, { ...found, head, items: found.input });
  return shown(call, { head });
}

/** Also works while a request adds to the conversation; the request's items are then not stored. */
async function deleteConversation(call: ConversationCall): Promise<Response> {
  const { id } = await findEnd(call);
  if (!(await call.admitted.gateway.turns.delete(call.keyId, id))) throw noSuchConversation(id);
  const deleted = { id, object: "conversation.deleted", deleted: true };
  return Response.json(deleted, { headers: commonHeaders(call.admitted.exchange) });
}

async function createItems(call: ConversationCall): Promise<Response> {
  const { items: added } = await readChange(call, "conversation_items");
  const found = await findToChange(call, sizeOf(added));
  rejectUnfit(found.input, added);
  const all = identified([...found.input, ...added]);
  rejectLong(all, call.settings);
  await change(call, { ...found, items: all });
  return listItems(call.admitted, all.slice(found.input.length));
}

async function listAll(call: ConversationCall): Promise<Response> {
  const { input } = await find(call);
  return listPage(call.admitted, input);
}

async function showOne(call: ConversationCall): Promise<Response> {
  return showItem(call.admitted, itemIn(await find(call), call));
}

async function deleteItem(call: ConversationCall): Promise<Response> {
  const found = await findToChange(call, conversationBytes(call.settings));
  const item = itemIn(found, call);
  await change(call, { ...found, items: found.input.filter((each) => each !== item) });
  return shown(call, found);
}

function admitted(run: (call: ConversationCall) => Promise<Response>): ServedOperation["run"] {
  return async (gateway, exchange) => {
    const call = await admit(gateway, exchange);
    const { settings } = exchange.configured;
    if (!keepsConversations(settings)) throw keepsNone();
    const reserve = (bytes: number) => call.awaitStored(bytes);
    return run({ admitted: call, keyId: call.keyId, settings, reserve });
  };
}

function keepsNone(): GatewayError {
  const message = "Conversations are turned off on this gateway. Send the full conversation in `input`.";
  return new GatewayError("not_found", message);
}

/**
 * A conversation that is another key's, deleted, expired or unknown is looked up in the same way, and gets the same
 * error.
 */
async function find(call: ConversationCall): Promise<KeptTurn> {
  const { gateway, exchange } = call.admitted;
  const id = segmentOf(exchange, "conversation_id");
  const found = await gateway.turns.conversation(call, id);
  if (found === null) throw noSuchConversation(id);
  return found;
}

/** Reads only the row, without the items that are stored separately. */
async function findEnd(call: ConversationCall): Promise<KeptTurn> {
  const { gateway, exchange } = call.admitted;
  const id = segmentOf(exchange, "conversation_id");
  const found = await gateway.turns.conversationEnd(call, id);
  if (found === null) throw noSuchConversation(id);
  return found;
}

function itemIn({ id, input }: KeptTurn, call: ConversationCall): TurnItem {
  const itemId = segmentOf(call.admitted.exchange, "item_id");
  const item = input.find((each) => each.id === itemId);
  if (item !== undefined) return item;
  throw new GatewayError("not_found", `Conversation '${id}' has no item '${itemId.slice(0, 200)}'.`);
}

/** Locked before it is read: what another request is changing is not read in vain, which takes long for a large one. */
async function findToChange(call: ConversationCall, writtenBytes: number): Promise<KeptTurn> {
  const { conversationWrites } = call.admitted.gateway;
  // What is written is known when it is read, and to read it only to refuse the change would delay others as much.
  rejectOften(conversationWrites.secondsUntil(call.keyId, writtenBytes));
  await lock(call);
  return find(call);
}

async function lock({ admitted: call }: ConversationCall): Promise<void> {
  const id = segmentOf(call.exchange, "conversation_id");
  if (!isConversationId(id)) throw noSuchConversation(id);
  await lockConversation(call, { id, no: null });
}

async function change(call: ConversationCall, conversation: ChangedConversation): Promise<void> {
  const { turns, conversationWrites } = call.admitted.gateway;
  rejectOften(conversationWrites.wait(call.keyId, planConversation(conversation).bytes));
  await turns.changeConversation(call, conversation);
}

function rejectOften(retryAfterSeconds: number): void {
  if (retryAfterSeconds === 0) return;
  const message = `This key recently wrote too many bytes to conversations. Retry in ${retryAfterSeconds} s, or use smaller conversations.`;
  throw new GatewayError("rate_limit_exceeded", message, { retryAfterSeconds });
}

function rejectLong(items: readonly TurnItem[], settings: Settings): void {
  const [maxBytes, maxItems] = [conversationBytes(settings), settings.server.maxListItems];
  if (sizeOf(items) <= maxBytes && items.length <= maxItems) return;
  const message = `A conversation can have at most ${maxItems} items and ${maxBytes} bytes. Delete some items, or start a new conversation.`;
  throw invalidRequest(message, "items");
}

function headOf(conversation: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify(conversation));
}

function shown(
  { admitted: { exchange } }: ConversationCall,
  { head }: Pick<ChangedConversation, "head">,
): Response {
  return new Response(head, { headers: { ...commonHeaders(exchange), ...jsonHeaders } });
}
