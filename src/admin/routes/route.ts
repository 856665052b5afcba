import type { Static, TObject, TSchema } from "@sinclair/typebox";
import type { Actor } from "../auth/guard.ts";
import type { AdminDeps } from "../deps.ts";

/** One admitted call, its query and body already checked. */
export interface AdminCall<Query = unknown, Body = unknown> {
  readonly deps: AdminDeps;
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly body: Body;
  readonly actor: Actor;
  readonly address: string;
}

/** What the audit log says of a change. */
export interface Change {
  readonly action: string;
  readonly target: string | null;
  readonly detail: string | null;
}

/** The answer of a route that changes something: it cannot be given without saying what was changed. */
export interface Changed {
  readonly answer: unknown;
  readonly change: Change;
}

interface Described {
  /** Below `/admin/api/v1`, with `:names`. */
  readonly path: string;
  readonly summary: string;
  readonly query?: TObject;
  readonly answers: TSchema;
}

interface ReadRoute extends Described {
  readonly method: "GET";
  /** A Response is sent as it is, anything else as JSON. */
  handle(call: AdminCall): unknown;
}

interface ChangeRoute extends Described {
  readonly method: "POST" | "PATCH";
  readonly body?: TSchema;
  handle(call: AdminCall): Promise<Changed>;
}

export type AdminRoute = ReadRoute | ChangeRoute;

/** Ties a handler to its schemas: what it reads is what was checked. */
export function read<Query extends TObject>(
  route: Omit<ReadRoute, "method" | "handle" | "query"> & { readonly query: Query },
  handle: (call: AdminCall<Static<Query>>) => unknown,
): ReadRoute {
  return { ...route, method: "GET", handle: (call) => handle(call as AdminCall<Static<Query>>) };
}

export function change<Body extends TSchema>(
  method: ChangeRoute["method"],
  route: Omit<ChangeRoute, "method" | "handle" | "body"> & { readonly body: Body },
  handle: (call: AdminCall<unknown, Static<Body>>) => Promise<Changed>,
): ChangeRoute {
  return { ...route, method, handle: (call) => handle(call as AdminCall<unknown, Static<Body>>) };
}
