/**
 * Draws a CPU profile as a flame graph in SVG: callers below, callees above, each as wide as the time it took, with its
 * name on hover.
 */
import { escaped } from '../../lib/base/html.ts'

export interface CpuProfile {
  nodes: {
    id: number
    callFrame: { functionName: string; url: string; lineNumber: number }
    children?: number[]
  }[]
  samples: number[]
  timeDeltas: number[]
}

interface Frame {
  name: string
  file: string
  selfUs: number
  totalUs: number
  children: Map<string, Frame>
}

const frame = (name: string, file: string): Frame => ({ name, file, selfUs: 0, totalUs: 0, children: new Map() })

/** Merges equal calls and recursion into one frame each, and leaves out idle time. */
export function fold(profile: CpuProfile): Frame {
  const byId = new Map(profile.nodes.map(node => [node.id, node]))
  const parents = new Map(profile.nodes.flatMap(node => (node.children ?? []).map(child => [child, node.id])))
  const self = new Map<number, number>()
  for (const [i, id] of profile.samples.entries()) self.set(id, (self.get(id) ?? 0) + (profile.timeDeltas[i] ?? 0))
  const root = frame('all', '')
  for (const [id, us] of self) {
    const stack: { name: string; file: string }[] = []
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const { functionName, url, lineNumber } = byId.get(at)!.callFrame
      if (functionName !== '(root)')
        stack.push({ name: functionName || '(anonymous)', file: `${url}:${lineNumber + 1}` })
    }
    if (stack[0]?.name === '(idle)') continue
    let here = root
    root.totalUs += us
    for (const { name, file } of stack.reverse()) {
      let next = here.children.get(name + file)
      if (next === undefined) here.children.set(name + file, (next = frame(name, file)))
      next.totalUs += us
      here = next
    }
    here.selfUs += us
  }
  return root
}

const WIDTH = 1600
const ROW = 17
const NARROWEST = 1.5

/** Warm colours for the gateway's code, blue for libraries, grey for node. */
function colour(file: string): string {
  if (file.includes('node_modules')) return '#8fb4e0'
  return file.includes('/lib/') ? '#f2a65a' : '#c9c9c9'
}

export function flameSvg(root: Frame): string {
  const out: string[] = []
  let depth = 0
  const draw = (one: Frame, x: number, row: number): void => {
    const width = (one.totalUs / root.totalUs) * WIDTH
    if (width < NARROWEST) return
    depth = Math.max(depth, row)
    const share = ((one.totalUs / root.totalUs) * 100).toFixed(1)
    const letters = Math.floor((width - 4) / 6.2)
    const label = letters > 2 ? escaped(one.name.slice(0, letters)) : ''
    const [left, top] = [x.toFixed(1), row * ROW]
    out.push(
      `<g><title>${escaped(`${one.name} ${one.file} ${share} %`)}</title>` +
        `<rect x="${left}" y="${top}" width="${width.toFixed(1)}" height="${ROW - 1}" fill="${colour(one.file)}"/>` +
        `<text x="${(x + 2).toFixed(1)}" y="${top + 12}">${label}</text></g>`,
    )
    let at = x
    for (const child of [...one.children.values()].sort((a, b) => b.totalUs - a.totalUs)) {
      draw(child, at, row + 1)
      at += (child.totalUs / root.totalUs) * WIDTH
    }
  }
  draw(root, 0, 0)
  const height = (depth + 1) * ROW
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="monospace" font-size="10">` +
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>${out.join('\n')}</svg>\n`
  )
}

/**
 * The shares of self time, by where the code is: a folder of the gateway, a library, node's JavaScript, or native code.
 */
export function byLayer(root: Frame): [layer: string, share: number][] {
  const shares = new Map<string, number>()
  const layerOf = (file: string): string => {
    const library = /node_modules\/(?:\.[^/]+\/)?([^/]+)/.exec(file)
    if (library !== null) return library[1] as string
    const ours = /\/lib\/([^/]+)/.exec(file)
    if (ours !== null) return `lib/${ours[1]}`
    return file.startsWith('node:') ? 'node' : 'native'
  }
  const visit = (one: Frame): void => {
    const layer = layerOf(one.file)
    shares.set(layer, (shares.get(layer) ?? 0) + one.selfUs / root.totalUs)
    for (const child of one.children.values()) visit(child)
  }
  visit(root)
  return [...shares].sort((a, b) => b[1] - a[1])
}
