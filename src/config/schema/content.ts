import { contentLevels } from "../../base/requests/content-level.ts";
import { marked, needsRestart, secrecy } from "./marks.ts";
import { choice, flag, fraction, named, section, whole } from "./parts.ts";
import { byteSize } from "./size.ts";

/** Less would cut every request. */
const minBodyBytes = 1000;
const minStoreBytes = 1_000_000;

/** Recording of request and response content; off without the section. */
export const contentSchema = section({
  record: choice(
    contentLevels,
    "all: every request; failed: only requests that did not complete; none: only what keys and accounts turn on.",
    "all",
  ),
  sample: fraction("The share of requests that is recorded, from 0 to 1.", {
    minimum: 0,
    maximum: 1,
    default: 1,
  }),
  days: whole("How long content is kept.", { minimum: 1, maximum: 3650, default: 7 }),
  max_size: byteSize(
    "Maximum size of all content. Beyond it, the oldest content of the keys with the most is deleted first.",
    "2GB",
    minStoreBytes,
  ),
  max_request: byteSize("Maximum size of a recorded request; the rest is cut.", "1MB", minBodyBytes),
  max_response: byteSize("Maximum size of a recorded response; the rest is cut.", "1MB", minBodyBytes),
  key: marked(
    named(
      "Encrypts content at rest with AES-256-GCM: 32 bytes in base64; a secret, written `env:NAME` or `file:/path`.",
    ),
    { [secrecy]: "key", [needsRestart]: true },
  ),
  record_upstream: flag(
    "Also records the request to the provider and its response, if a request is translated.",
    false,
  ),
  members_see_own: flag("Members can read the content of their own keys' requests.", false),
});
