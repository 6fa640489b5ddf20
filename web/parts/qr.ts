/**
 * A QR code as elements: a picture from another source would need an exception in the policy. The library is loaded when the
 * first code is drawn, because most visits to pages that may show one see none.
 */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { QrCodeGenerateResult } from 'uqr'
import { path, svg, use } from '../base/element.ts'

const BORDER = 3

interface Code {
  text: string
  /** What it is, for people who cannot see it. */
  name: string
}

function Picture({ text, name }: Code): VNode {
  const [made, setMade] = useState<QrCodeGenerateResult | null>(null)
  useEffect(() => {
    let ended = false
    void import('uqr').then(({ encode }) => {
      if (!ended) setMade(encode(text, { border: BORDER, ecc: 'M' }))
    })
    return () => {
      ended = true
    }
  }, [text])
  if (made === null) return svg({ class: 'qr', 'aria-hidden': 'true' })
  const dark = made.data.flatMap((row, y) => row.map((on, x) => (on ? `M${x} ${y}h1v1h-1z` : ''))).join('')
  const { size } = made
  return svg(
    { class: 'qr', viewBox: `0 0 ${size} ${size}`, role: 'img', 'aria-label': name, 'shape-rendering': 'crispEdges' },
    path({ d: dark }),
  )
}

const DOT_PIXELS = 8

/** Gives the reader the code as a file, for an app that reads codes out of pictures. */
export async function saveQr(text: string, file: string): Promise<void> {
  const { encode } = await import('uqr')
  const { data, size } = encode(text, { border: BORDER, ecc: 'M' })
  const canvas = document.createElement('canvas')
  canvas.width = canvas.height = size * DOT_PIXELS
  const brush = canvas.getContext('2d') as CanvasRenderingContext2D
  brush.fillStyle = '#fff'
  brush.fillRect(0, 0, canvas.width, canvas.height)
  brush.fillStyle = '#000'
  for (const [y, row] of data.entries())
    for (const [x, on] of row.entries()) if (on) brush.fillRect(x * DOT_PIXELS, y * DOT_PIXELS, DOT_PIXELS, DOT_PIXELS)
  const link = document.createElement('a')
  link.download = `${file}.png`
  link.href = canvas.toDataURL('image/png')
  link.click()
}

export const qr = (text: string, name: string): VNode => use(Picture, { text, name })
