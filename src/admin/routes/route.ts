import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { Settings } from "../../config/settings.ts";
import type { LimitedRead } from "../access/guard.ts";
import type { Caller } from "../access/identity.ts";
import type { Role } from "../access/roles.ts";
import type { Change } from "../audit.ts";
import type { AdminDeps } from "../deps.ts";
import { nothing } from "../formats/shapes.ts";

/** An authenticated call with a validated query and body. */
export interface AdminCall<Query = unknown, Body = unknown> {
  readonly deps: AdminDeps;
  readonly request: Request;
  /** The value of `:name` in the route's path; empty without one. */
  readonly named: string;
  readonly query: Query;
  readonly body: Body;
  readonly caller: Caller;
  readonly address: string;
  /** Shows a waiting client how far the operation is. `request.signal` is aborted when the client disconnects. */
  report(text: string): void;
}

/** The result of a route that changes something. It cannot be returned without the change. */
export interface ChangeResult {
  /** A byte array is JSON that was serialized before. */
  readonly answer: unknown;
  /** The change for the audit log; null if nothing changed. */
  readonly change: Change | null;
}

interface RouteDescription {
  /** Below `/admin/api/v1`, with `:names`. */
  readonly path: string;
  readonly summary: string;
  /** The role needed; by default `viewer` to read and `admin` to change. */
  readonly role?: Role;
  /** Lowers the role if the configuration allows it. */
  roleIn?(settings: Settings): Role | null;
  readonly query?: TObject;
  readonly answers: TSchema;
  /** The route reads much, so each caller gets one of the kind at a time, and a number per minute. */
  readonly limitedAs?: LimitedRead;
}

interface ReadRoute extends RouteDescription {
  readonly method: "GET";
  /** A Response is sent as it is, anything else as JSON. */
  handle(call: AdminCall): unknown;
}

interface ChangeRoute extends RouteDescription {
  readonly method: "POST" | "PATCH" | "DELETE";
  readonly body?: TSchema;
  /** The longest body; by default 64 KiB. */
  readonly maxBytes?: number;
  /** The handler gets the bytes and has them checked off the event loop. */
  readonly isBodyUnread?: true;
  handle(call: AdminCall): Promise<ChangeResult>;
}

export type AdminRoute = ReadRoute | ChangeRoute;

type Schemas<Route, Given> = Omit<Route, "method" | "path" | "summary" | "handle" | keyof Given> & Given;

/** Types a handler by the schemas that validate its input. */
export function get<Query extends TObject>(
  path: string,
  summary: string,
  schemas: Schemas<ReadRoute, { readonly query?: Query }>,
  handle: (call: AdminCall<Static<Query>>) => unknown,
): ReadRoute {
  const method = "GET";
  return { ...schemas, method, path, summary, handle: (call) => handle(call as AdminCall<Static<Query>>) };
}

/** A change whose handler gets the body's bytes; the schema is for the description. */
export function postBytes(
  path: string,
  summary: string,
  schemas: Schemas<ChangeRoute, { readonly body: TSchema }>,
  handle: (call: AdminCall<unknown, Uint8Array>) => Promise<ChangeResult>,
): ChangeRoute {
  const method = "POST";
  return {
    ...schemas,
    isBodyUnread: true,
    method,
    path,
    summary,
    handle: (call) => handle(call as AdminCall<unknown, Uint8Array>),
  };
}

/** Without a schema the body has no fields. */
const changing =
  (method: ChangeRoute["method"]) =>
  <Body extends TSchema>(
    path: string,
    summary: string,
    schemas: Schemas<ChangeRoute, { readonly body?: Body }>,
    handle: (call: AdminCall<unknown, Static<Body>>) => Promise<ChangeResult>,
  ): ChangeRoute => ({
    body: nothing,
    ...schemas,
    method,
    path,
    summary,
    handle: (call) => handle(call as AdminCall<unknown, Static<Body>>),
  });

export const post = changing("POST");
export const patch = changing("PATCH");
export const deleteRoute = changing("DELETE");

/** Whether it shows or changes what members own, in every configuration or in some. */
export function isForMembers(route: AdminRoute): boolean {
  return roleFor(route) === "member" || route.roleIn !== undefined;
}

export function roleFor({ method, role }: AdminRoute): Role {
  return role ?? (method === "GET" ? "viewer" : "admin");
}

/** No path has two `:names`. */
export function namedBy(params: Readonly<Record<string, string>>): string {
  return Object.values(params)[0] ?? "";
}

interface FoundRoute {
  readonly route: AdminRoute;
  readonly named: string;
}

/** The route of a path, with the value of its `:name`. A route without a name takes precedence. */
export function routeAt(routes: readonly AdminRoute[], method: string, path: string): FoundRoute | null {
  const parts = path.split("/");
  const found = routes.flatMap((route): FoundRoute[] => {
    const names = route.path.split("/");
    const place = names.findIndex((name) => name.startsWith(":"));
    const isHere = route.method === method && names.length === parts.length;
    if (!isHere || names.some((name, at) => at !== place && name !== parts[at])) return [];
    return [{ route, named: decodeURIComponent(parts[place] ?? "") }];
  });
  return found.find(({ route }) => !route.path.includes(":")) ?? found[0] ?? null;
}
