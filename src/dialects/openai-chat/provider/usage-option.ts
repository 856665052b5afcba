import { isObject } from "../../../base/json.ts";
import type { UsageOption } from "../../provider-dialect.ts";

/** Only chat leaves the usage of a stream out unless it is asked for. */
export const usageOption: UsageOption = {
  isSet: (body) => {
    const options = body["stream_options"];
    return isObject(options) && options["include_usage"] === true;
  },
  changes: { "stream_options.include_usage": true },
};
