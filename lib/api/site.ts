/** The console's own address, as people reach it, and what follows from it. */

export interface Site {
  /** URL without a slash at the end. */
  main: string
  /** The config names it; otherwise it is made from the listener, and people may well use another one. */
  given: boolean
}

export const isHttps = ({ main }: Site): boolean => main.startsWith('https:')

export const originOf = ({ main }: Site): string => new URL(main).origin

/** Only this machine reaches the console. */
export function isLoopback({ main }: Site): boolean {
  const { hostname } = new URL(main)
  return /^(127(\.\d{1,3}){3}|\[::1\]|localhost|.+\.localhost)$/.test(hostname)
}
