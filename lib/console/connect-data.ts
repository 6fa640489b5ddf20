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

export const connectData = ({ main, direct }: PublicUrls): ConnectData => ({ main, direct, clients: CLIENTS })
