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
import { jsonHeaders } from "../answer/answering.ts";
import type { Exchange } from "../exchange.ts";
import type { Gateway } from "../gateway.ts";
import { commonHeaders } from "../headers.ts";
import { keptOperations, type ServedOperation } from "../served-operation.ts";
import { planConversation } from "./conversation-body.ts";
import { type Client, readChange, refuseUnfit } from "./conversation-change.ts";
import { lockConversation, noSuchConversation } from "./conversation-lock.ts";
import { identified } from "./item-ids.ts";
import { itemList, listItems, listPage, listQuery, segmentOf, showItem } from "./item-list.ts";
import type { ChangedConversation, KeptTurn } from "./turn-body.ts";
import { conversationBytes, keepsConversations } from "./turns.ts";

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

async function createConversation(gateway: Gateway, exchange: Exchange, client: Client): Promise<Response> {
  const { items: added, metadata } = await readChange(gateway, exchange, client, "conversation");
  const id = newConversationId();
  const head = headOf({ id, object: "conversation", created_at: Math.floor(exchange.atMs / 1000), metadata });
  refuseUnfit([], added);
  refuseLong(added, client.settings);
  const created = { id, no: null, head, items: added };
  await change(gateway, client, created);
  return shown(exchange, created);
}

async function showConversation(gateway: Gateway, exchange: Exchange, client: Client): Promise<Response> {
  return shown(exchange, await findEnd(gateway, exchange, client));
}

async function updateConversation(gateway: Gateway, exchange: Exchange, client: Client): Promise<Response> {
  const { metadata } = await readChange(gateway, exchange, client, "conversation_update");
  await lock(gateway, exchange, client);
  const found = await findEnd(gateway, exchange, client);
  const head = headOf({ ...JSON.parse(Buffer.from(found.head).toString()), metadata });
  await change(gateway, client, { ...found, head, items: found.input });
  return shown(exchange, { head });
}

/** Also while a request adds to it, which is then in vain. */
async function deleteConversation(gateway: Gateway, exchange: Exchange, client: Client): Promise<Response> {
  const { id } = await findEnd(gateway, exchange, client);
  if (!(await gateway.turns.delete(client.key.id, id))) throw noSuchConversation(id);
  const deleted = { id, object: "conversation.deleted", deleted: true };
  return Response.json(deleted, { headers: commonHeaders(exchange) });
}

async function createItems(gateway: Gateway, exchange: Exchange, client: Client): Promise<Response> {
  const { items: added } = await readChange(gateway, exchange, client, "conversation_items");
  const found = await findToChange(gateway, exchange, client, sizeOf(added));
  refuseUnfit(found.input, added);
  const all = identified([...found.input, ...added]);
  refuseLong(all, client.settings);
  await change(gateway, client, { ...found, items: all });
  return listItems(gateway, exchange, all.slice(found.input.length));
}

async function listAll(gateway: Gateway, exchange: Exchange, client: Client): Promise<Response> {
  const { input } = await find(gateway, exchange, client);
  return listPage(gateway, exchange, input);
}

async function showOne(gateway: Gateway, exchange: Exchange, client: Client): Promise<Response> {
  return showItem(gateway, exchange, itemIn(await find(gateway, exchange, client), exchange));
}

async function deleteItem(gateway: Gateway, exchange: Exchange, client: Client): Promise<Response> {
  const found = await findToChange(gateway, exchange, client, conversationBytes(client.settings));
  const item = itemIn(found, exchange);
  await change(gateway, client, { ...found, items: found.input.filter((each) => each !== item) });
  return shown(exchange, found);
}

function admitted(
  run: (gateway: Gateway, exchange: Exchange, client: Client) => Promise<Response>,
): ServedOperation["run"] {
  return async (gateway, exchange) => {
    const key = await admit(gateway, exchange);
    const { settings } = exchange.configured;
    if (!keepsConversations(settings)) throw keepsNone();
    const reserve = (bytes: number) => exchange.awaitMemory(bytes);
    return run(gateway, exchange, { key, keyId: key.id, settings, reserve });
  };
}

function keepsNone(): GatewayError {
  const message = "No conversations are kept here. Send the whole conversation in `input`.";
  return new GatewayError("not_found", message);
}

/** Another key's, a deleted, an expired and an unknown one are looked up in the same way, and answered alike. */
async function find({ turns }: Gateway, exchange: Exchange, client: Client): Promise<KeptTurn> {
  const id = segmentOf(exchange, "conversation_id");
  const found = await turns.conversation(client, id);
  if (found === null) throw noSuchConversation(id);
  return found;
}

/** Without the items that are stored apart from it. */
async function findEnd({ turns }: Gateway, exchange: Exchange, client: Client): Promise<KeptTurn> {
  const id = segmentOf(exchange, "conversation_id");
  const found = await turns.conversationEnd(client, id);
  if (found === null) throw noSuchConversation(id);
  return found;
}

function itemIn({ id, input }: KeptTurn, exchange: Exchange): TurnItem {
  const itemId = segmentOf(exchange, "item_id");
  const item = input.find((each) => each.id === itemId);
  if (item !== undefined) return item;
  throw new GatewayError("not_found", `Conversation '${id}' has no item '${itemId.slice(0, 200)}'.`);
}

/** Locked before it is read: what another request is changing is not read in vain, which takes long for a large one. */
async function findToChange(
  gateway: Gateway,
  exchange: Exchange,
  client: Client,
  writtenBytes: number,
): Promise<KeptTurn> {
  // What is written is known when it is read, and to read it only to refuse the change would delay others as much.
  refuseOften(gateway.conversationWrites.secondsUntil(client.keyId, writtenBytes));
  await lock(gateway, exchange, client);
  return find(gateway, exchange, client);
}

async function lock(gateway: Gateway, exchange: Exchange, client: Client): Promise<void> {
  const id = segmentOf(exchange, "conversation_id");
  if (!isConversationId(id)) throw noSuchConversation(id);
  await lockConversation(gateway, exchange, client.key, { id, no: null });
}

async function change(
  { turns, conversationWrites }: Gateway,
  client: Client,
  conversation: ChangedConversation,
): Promise<void> {
  refuseOften(conversationWrites.wait(client.keyId, planConversation(conversation).bytes));
  await turns.changeConversation(client, conversation);
}

function refuseOften(retryAfterSeconds: number): void {
  if (retryAfterSeconds === 0) return;
  const message = `Too many bytes of conversations were written with this key lately. Retry in ${retryAfterSeconds} s, or use smaller conversations.`;
  throw new GatewayError("rate_limit_exceeded", message, { retryAfterSeconds });
}

function refuseLong(items: readonly TurnItem[], settings: Settings): void {
  const [mostBytes, mostItems] = [conversationBytes(settings), settings.server.maxListItems];
  if (sizeOf(items) <= mostBytes && items.length <= mostItems) return;
  const message = `A conversation has at most ${mostItems} items, and ${mostBytes} bytes of them. Delete some, or begin a new one.`;
  throw invalidRequest(message, "items");
}

function headOf(conversation: JsonObject): Uint8Array {
  return Buffer.from(JSON.stringify(conversation));
}

function shown(exchange: Exchange, { head }: Pick<ChangedConversation, "head">): Response {
  return new Response(head, { headers: { ...commonHeaders(exchange), ...jsonHeaders } });
}
