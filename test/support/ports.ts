/** Finds free ports, for servers whose port must be known before they listen. */
import net from 'node:net'

/**
 * The ports are below those that systems give to outgoing connections, which could take a port before its gateway does.
 */
const LOWEST_PORT = 16_000
const PORTS = 16_000

let next = Math.floor(Math.random() * PORTS)

export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = []
  while (ports.length < count) {
    const port = LOWEST_PORT + (next++ % PORTS)
    if ((await isOurs(port)) && (await isFree(port))) ports.push(port)
  }
  return ports
}

/**
 * Until the server of a port listens, which may take seconds, other processes find the port free, too. So it belongs to the process that
 * first listens at a name for it, which Linux takes back when that process ends.
 */
const isOurs = async (port: number): Promise<boolean> =>
  process.platform !== 'linux' || (await listening({ path: `\0port ${port} of a gateway's tests` })) !== null

async function isFree(port: number): Promise<boolean> {
  const server = await listening({ port, host: '127.0.0.1' })
  await new Promise<unknown>(resolve => (server === null ? resolve(null) : server.close(resolve)))
  return server !== null
}

/** null = somebody else does. */
const listening = (at: net.ListenOptions): Promise<net.Server | null> =>
  new Promise(resolve => {
    const server = net.createServer()
    server.once('error', () => resolve(null))
    server.listen(at, () => resolve(server.unref()))
  })

export const freePort = async (): Promise<number> => (await freePorts(1))[0] as number
