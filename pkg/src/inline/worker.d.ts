/** Made by the build: the worker as one script. */
export const source: string;
