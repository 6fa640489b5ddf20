/** A QR code as elements: a picture from another source would need an exception in the policy. */

import type { VNode } from 'preact'
import { encode } from 'uqr'
import { path, svg } from '../element.ts'

const BORDER = 3

/** `name`: what it is, for people who cannot see it. */
export function qr(text: string, name: string): VNode {
  const { data, size } = encode(text, { border: BORDER, ecc: 'M' })
  const dark = data.flatMap((row, y) => row.map((on, x) => (on ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  return svg(
    { class: 'qr', viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': name, 'shape-rendering': 'crispEdges' },
    path({ d: dark }),
  )
}
