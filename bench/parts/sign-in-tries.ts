/**
 * People who try to sign in with e-mails that nobody has, each from another address, so that neither the bounds of an
 * address nor the waits after failures stop them: each try costs a hash, or is told that the queue is full.
 */
import http from 'node:http'
import type { Subject } from './subjects.ts'

export interface Tried {
  /** Tries for which a hash was made. */
  hashed: number
  /** Tries that found no place in the queue. */
  refused: number
}

/** Tries until the function is called that it returns. `at`: how many try at a time. */
export function trySignIns({ port }: Subject, at: number): () => Promise<Tried> {
  const tried: Tried = { hashed: 0, refused: 0 }
  const agent = new http.Agent({ keepAlive: true, maxSockets: at })
  let isOver = false
  let count = 0
  const one = async () => {
    while (!isOver) {
      const status = await post(port, agent, count++)
      if (status === 403) tried.hashed++
      else if (status === 429) tried.refused++
      else throw new Error(`a sign-in: ${status}`)
    }
  }
  const running = Array.from({ length: at }, one)
  return async () => {
    isOver = true
    await Promise.all(running)
    agent.destroy()
    return tried
  }
}

const addressOf = (i: number): string => `10.${(i >> 16) & 255}.${(i >> 8) & 255}.${i & 255}`

function post(port: number, agent: http.Agent, i: number): Promise<number> {
  const body = JSON.stringify({ email: `nobody${i}@example.org`, password: 'a long and winding password' })
  const headers = {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    'sec-fetch-site': 'same-origin',
    'x-forwarded-for': addressOf(i),
  }
  return new Promise((resolve, reject) => {
    const req = http.request(
      { host: '127.0.0.1', port, method: 'POST', path: '/console/api/sign-in', headers, agent },
      res => {
        res.resume().on('end', () => resolve(res.statusCode as number))
        res.on('error', reject)
      },
    )
    req.on('error', reject)
    req.end(body)
  })
}
