/** Made by the build: the module as text, for hosts whose addresses lead nowhere. */
export const base64: string;
