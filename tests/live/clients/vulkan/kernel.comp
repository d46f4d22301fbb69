#version 450
layout(local_size_x = 64) in;
layout(constant_id = 0) const uint SCALE = 1;
layout(set = 0, binding = 0) buffer Words { uint word[]; };
layout(set = 0, binding = 1) uniform Factors { uvec4 factor[4]; };
layout(set = 1, binding = 0, r32ui) uniform uimage2D image;
layout(set = 1, binding = 1) buffer Sum { uint sum; uint largest; };
layout(push_constant) uniform Push { uint added; uint width; };
shared uint kept[64];

void main() {
    uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x;
    kept[l] = word[i];
    barrier();
    uint value = kept[63 - l] * factor[l & 3][l >> 2 & 3] * SCALE + added;
    word[i] = value;
    imageStore(image, ivec2(i % width, i / width), uvec4(value ^ i));
    atomicAdd(sum, value);
    atomicMax(largest, value);
}
