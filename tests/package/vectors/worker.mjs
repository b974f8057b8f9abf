/** workerd: the request brings the pack. */
import * as burrow from "burrow-memory";

import { vectorsOf } from "./embed.mjs";

export default {
  async fetch(request) {
    try {
      const pack = new Uint8Array(await request.arrayBuffer());
      return Response.json(await vectorsOf(burrow, pack));
    } catch (error) {
      return new Response(`${error.code} ${error.stack}`, { status: 500 });
    }
  },
};
