/** What the page Connect shows: the gateway's addresses, and what each kind of client needs. */
import { CLIENTS, type ClientRow } from './clients.ts'

/** The addresses at which clients reach the gateway, without a slash at the end. */
export interface PublicUrls {
  main: string
  direct: string
}

export interface ConnectData extends PublicUrls {
  clients: readonly ClientRow[]
}

let latest: ConnectData | null = null

/** The same object as long as the addresses are the same, so that pages of it are written once. */
export function connectData({ main, direct }: PublicUrls): ConnectData {
  if (latest?.main !== main || latest.direct !== direct) latest = { main, direct, clients: CLIENTS }
  return latest
}
