/** Finds free ports, for servers whose port must be known before they listen. */
import net from 'node:net'

/**
 * The ports are below those that systems give to outgoing connections, which could take a port before its gateway does.
 */
const LOWEST_PORT = 16_000
const PORTS = 16_000
/** How many of them a process gives out, one after the other, so that two that run at once hardly ever choose the same. */
const OF_A_PROCESS = 128

const first = LOWEST_PORT + ((process.pid * OF_A_PROCESS) % PORTS)
let given = Math.floor(Math.random() * OF_A_PROCESS)

export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = first + (given++ % OF_A_PROCESS)
    if (await isFree(port)) ports.add(port)
  }
  return [...ports]
}

function isFree(port: number): Promise<boolean> {
  const server = net.createServer()
  return new Promise(resolve => {
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}

export const freePort = async (): Promise<number> => (await freePorts(1))[0] as number
