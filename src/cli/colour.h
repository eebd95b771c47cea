/* Converts numbers to colours: depth by a ramp, segmentation by hashed colours, normals by components. */
#ifndef STI_CLI_COLOUR_H
#define STI_CLI_COLOUR_H

#include <stdint.h>

/*
 * Near is light and warm, far is dark, in even steps of 1 / depth, so most of the ramp is used for near depths. Values
 * that are not finite (nothing hit) are black. lo < hi.
 */
void colour_depth(float depth, float lo, float hi, uint8_t rgb[3]);
/* One colour an id, neighbours apart; 0 is grey, -1 (the sky) is black. */
void colour_id(int32_t id, uint8_t rgb[3]);
/* Components of a unit vector from -1 … 1 to 0 … 255; the zero vector (nothing hit) is black. */
void colour_normal(const float n[3], uint8_t rgb[3]);

#endif
