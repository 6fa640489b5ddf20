/** The ways to upstreams. */

/** How an upstream is reached. Channels with equal connections share a connection pool. */
export interface Connection {
  /** A text made of all the fields below. */
  readonly id: string
  /** `https://host:port` */
  readonly origin: string
  readonly proxy: string | null
  readonly ca: string | null
  readonly http2: boolean
  /** The upstream may be at a reserved address. */
  readonly reserved: boolean
}

/** The way to an origin with everything else as in `as`. */
export function connectionTo(
  origin: string,
  { proxy, ca, http2, reserved }: Omit<Connection, 'id' | 'origin'>,
): Connection {
  return { id: JSON.stringify([origin, proxy, ca, http2, reserved]), origin, proxy, ca, http2, reserved }
}
