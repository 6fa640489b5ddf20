/**
 * Serves kept pictures on the main address: who knows the name of one may have it, without a key. What is in them comes
 * from upstreams, and the console has the same origin, so only what is a picture by its bytes is shown as one, nothing may
 * run, and everything else is a download. A slow client costs a connection and one chunk, and only for a while.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { FILES } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import type { KeptPicture } from '../pictures/pictures.ts'
import { NO_PAGE } from '../../base/reply.ts'
import type { Pages } from './server.ts'

/** How many pictures are on their way at once, per process: all together, and the same one. */
const MOST = 256
const MOST_OF_ONE = 16
/** The most time for one picture, however slowly its client takes it. */
const LONGEST_MS = 600_000
const CHUNK_BYTES = 64 * 1024
const RETRY_AFTER_S = 2

export function pictureFiles(services: Services): Pages {
  const files = new Files(services)
  return (req, res) => {
    const url = req.url ?? ''
    if (!url.startsWith(FILES) || services.pictures.settings === null) return false
    if (req.method !== 'GET' && req.method !== 'HEAD') return false
    files.serve(req, res, url.slice(FILES.length).split('?', 1)[0] as string)
    return true
  }
}

class Files {
  readonly #services: Services
  /** The names of those that are on their way, and how often. */
  readonly #underWay = new Map<string, number>()
  #open = 0

  constructor(services: Services) {
    this.#services = services
  }

  serve(req: IncomingMessage, res: ServerResponse, name: string): void {
    res.on('error', () => {}) // a broken connection closes the response too
    if (this.#services.draining) res.shouldKeepAlive = false
    const ofThis = this.#underWay.get(name) ?? 0
    if (this.#open >= MOST || ofThis >= MOST_OF_ONE) {
      refuse(req, res, 503)
      return
    }
    this.#open++
    this.#services.openCount++
    this.#underWay.set(name, ofThis + 1)
    const cancel = this.#services.clock.after(LONGEST_MS, () => res.destroy())
    void this.#answer(req, res, name).finally(() => {
      cancel()
      this.#open--
      this.#services.openCount--
      const left = (this.#underWay.get(name) as number) - 1
      if (left > 0) this.#underWay.set(name, left)
      else this.#underWay.delete(name)
    })
  }

  /** Never rejects. */
  async #answer(req: IncomingMessage, res: ServerResponse, name: string): Promise<void> {
    let picture: KeptPicture | null = null
    try {
      picture = await this.#services.pictures.find(name)
      if (picture === null) refuse(req, res, 404)
      else await send(req, res, picture)
    } catch (error) {
      this.#services.log.error({ err: error }, 'a kept picture could not be read')
      if (res.headersSent) res.destroy()
      else refuse(req, res, 503)
    } finally {
      await picture?.file.close().catch(() => {})
    }
  }
}

const TEXTS = { 404: 'not found\n', 503: 'try again later\n' }

/** The same for every name that has no picture, whatever the name and the reason. */
function refuse(req: IncomingMessage, res: ServerResponse, status: keyof typeof TEXTS): void {
  const headers = ['content-type', 'text/plain; charset=utf-8', 'cache-control', 'no-store']
  if (status === 503) headers.push('retry-after', String(RETRY_AFTER_S))
  headers.push('content-length', String(TEXTS[status].length))
  res.writeHead(status, [...commonOf(req), ...headers]).end(TEXTS[status])
}

/** A page of any other site may show the picture, and its script may read it: the name is all that anybody needs. */
function commonOf(req: IncomingMessage): string[] {
  const common = [...NO_PAGE.pairs, 'cross-origin-resource-policy', 'cross-origin', 'referrer-policy', 'no-referrer']
  if (req.headers.origin !== undefined) common.push('access-control-allow-origin', '*')
  return common
}

async function send(req: IncomingMessage, res: ServerResponse, { file, bytes, leftMs }: KeptPicture): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, bytes))
  const first = await chunkAt(0)
  const type = pictureType(first.subarray(0, HEAD_BYTES))
  const headers = ['content-type', type ?? 'application/octet-stream', 'content-length', String(bytes)]
  if (type === null) headers.push('content-disposition', 'attachment')
  headers.push('accept-ranges', 'none', 'cache-control', `private, max-age=${Math.floor(leftMs / 1000)}`)
  res.writeHead(200, [...commonOf(req), ...headers])
  if (req.method === 'HEAD') {
    res.end()
    return
  }
  await write(first)
  for (let at = first.length; at < bytes && !res.destroyed; ) {
    const chunk = await chunkAt(at)
    await write(chunk)
    at += chunk.length
  }
  res.end()

  async function chunkAt(position: number): Promise<Buffer> {
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, bytes - position), position)
    if (bytesRead === 0) throw new Error('the file of a kept picture is shorter than it was')
    return buffer.subarray(0, bytesRead)
  }

  /** Resolves when the connection has taken it, or is closed; then the buffer may be used again. */
  function write(chunk: Buffer): Promise<void> {
    return new Promise(resolve => {
      if (res.destroyed) resolve()
      else {
        res.once('close', resolve)
        res.write(chunk, () => {
          res.off('close', resolve)
          resolve()
        })
      }
    })
  }
}

// --- what kind of picture a file is. Nothing but its bytes is believed, and least of all what an upstream says

/** How many bytes are looked at. */
export const HEAD_BYTES = 12

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const JPEG = Buffer.from([0xff, 0xd8, 0xff])

/** null = none of the kinds that every browser shows and that can hold no script. */
function pictureType(head: Buffer): string | null {
  if (begins(head, PNG)) return 'image/png'
  if (begins(head, JPEG)) return 'image/jpeg'
  const text = head.toString('latin1')
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'image/gif'
  return text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP' ? 'image/webp' : null
}

const begins = (head: Buffer, start: Buffer): boolean => head.subarray(0, start.length).equals(start)
