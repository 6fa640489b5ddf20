/** The names of the console's cookies, and what protects them. */

/**
 * The name of a cookie of ours. Browsers take the first form from the host itself only, over https, so that no neighbour
 * on a subdomain can set it; a console without https has to do without that. `main`: the address of the console.
 */
export const cookieNameAt = (main: string, name: string): string =>
  main.startsWith('https:') ? `__Host-${name}` : name

/** A line of `set-cookie` for a cookie of ours, which no script reads and no other site's form sends. */
export const cookieLine = (main: string, name: string, value: string, seconds: number): string =>
  `${cookieNameAt(main, name)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}${main.startsWith('https:') ? '; Secure' : ''}`
