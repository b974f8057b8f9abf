/** The package's own files, served as they are, imported by a service worker. */
import { kept, serve, visitTwice } from "../browser.mjs";

export default async function serviceWorker({ dir }) {
  const site = await serve(dir);
  try {
    const visits = await visitTwice(site.url);
    const { runs } = visits[1].kept;
    if (runs !== "here")
      throw new Error(`a service worker starts no worker of its own, but the store runs in: ${runs}`);
    return kept(visits);
  } finally {
    await site.close();
  }
}
