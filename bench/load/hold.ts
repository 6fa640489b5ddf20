/**
 * Opens streams and keeps them open. It reports when each has had its first byte, and stays until the process is ended.
 */
import net from 'node:net'
import type { Order } from './order.ts'
import { requestsOf } from './requests.ts'

export function runHold(order: Order): Promise<void> {
  const request = requestsOf(order)[0]?.[0] as Buffer
  const { requests, rampMs = 0, ports, host } = order
  let begun = 0
  return new Promise((resolve, reject) => {
    const open = () => {
      const socket = net.connect({ port: ports[0] as number, host, noDelay: true }, () => socket.write(request))
      socket.once('data', (head: Buffer) => {
        if (!head.toString('latin1', 0, 12).endsWith(' 200')) reject(new Error(head.toString('latin1', 0, 500)))
        if (++begun === requests) resolve()
      })
      socket.on('data', () => {})
      socket.on('close', () => reject(new Error('a stream ended')))
      socket.on('error', reject)
    }
    for (let i = 0; i < requests; i++) setTimeout(open, (i / requests) * rampMs)
  })
}
